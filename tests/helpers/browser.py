"""A headless Chromium for tests; they skip where it is not installed."""

import contextlib
import json
import shutil
import tempfile
import time

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextlib.contextmanager
def open_browser(width=1280, height=900):
    """A browser with an empty profile, its console and its requests recorded."""
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("Chromium is not installed: apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = webdriver.ChromeService(executable_path=chromedriver)
        driver = webdriver.Chrome(options=options, service=service)
        try:
            yield driver
        finally:
            driver.quit()


def set_phone(driver, width=390, height=844):
    """Show pages as a phone does."""
    size = {"width": width, "height": height, "deviceScaleFactor": 2, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def set_computer(driver):
    """Show pages as a computer does, in light colours."""
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    set_colours(driver, "light")


def set_colours(driver, scheme):
    """Prefer light or dark, as a system setting would."""
    wanted = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)


def console(driver):
    """What the console said since it was last asked."""
    return [entry["message"] for entry in driver.get_log("browser")]


def requests(driver):
    """The addresses asked for since they were last asked about."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]


def settle(driver):
    """Wait until the page has drawn twice and has nothing more to do."""
    driver.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "const idle = () => requestIdleCallback(() => done());"
        "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(idle, 100)))"
    )


def until(holds, seconds=60):
    """Wait until something holds; at most a minute, on however slow a machine."""
    end = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < end:
        time.sleep(0.02)
    assert found, "it did not come about"
