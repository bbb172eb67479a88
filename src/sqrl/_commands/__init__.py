"""The commands of the command line, one file each; `sqrl.cli` puts them together.

What several commands share: `options` (how options are spelt), `reading` (files to rules and rows),
`results` (lines on a terminal, and files) and `ending` (errors to messages and exit statuses).
Libraries are imported where a command runs, so that help is quick.
"""
