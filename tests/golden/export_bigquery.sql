WITH sqrl_columns AS (
  SELECT
    `day` AS `mini_batch`,
    CAST(`type` AS STRING) AS `v2`,
    CASE
      WHEN CAST(`wet` AS BOOL)
      THEN CAST(1 AS FLOAT64)
      WHEN NOT CAST(`wet` AS BOOL)
      THEN CAST(0 AS FLOAT64)
    END AS `v3`,
    CASE
      WHEN CAST(`width` AS FLOAT64) <= CAST('inf' AS FLOAT64)
      THEN CAST(`width` AS FLOAT64)
    END AS `v4`,
    CASE
      WHEN CAST(`height` AS FLOAT64) <= CAST('inf' AS FLOAT64)
      THEN CAST(`height` AS FLOAT64)
    END AS `v5`,
    CASE
      WHEN CAST(`grade` AS FLOAT64) <= CAST('inf' AS FLOAT64)
      THEN CAST(`grade` AS FLOAT64)
    END AS `v8`
  FROM road.boxes
), sqrl_values_1 AS (
  SELECT
    *,
    CASE
      WHEN (
        `v4` / NULLIF(`v5`, CAST(0 AS FLOAT64))
      ) BETWEEN CAST('-1.7976931348623157e+308' AS FLOAT64) AND CAST('1.7976931348623157e+308' AS FLOAT64)
      THEN (
        `v4` / NULLIF(`v5`, CAST(0 AS FLOAT64))
      )
    END AS `v6`,
    CASE
      WHEN CASE WHEN `v4` >= CAST(0 AS FLOAT64) THEN SQRT(`v4`) END BETWEEN CAST('-1.7976931348623157e+308' AS FLOAT64) AND CAST('1.7976931348623157e+308' AS FLOAT64)
      THEN CASE WHEN `v4` >= CAST(0 AS FLOAT64) THEN SQRT(`v4`) END
    END AS `v7`,
    CASE WHEN `v2` = 'Car' THEN `v4` END AS `v9`
  FROM sqrl_columns
), sqrl_values_2 AS (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY `mini_batch` ORDER BY CASE WHEN `v9` IS NULL THEN 1 ELSE 0 END, `v9`) AS `v10`,
    COUNT(`v9`) OVER (PARTITION BY `mini_batch`) AS `v11`
  FROM sqrl_values_1
), sqrl_outcomes_1 AS (
  SELECT
    CASE
      WHEN `v2` = 'Car' AND NOT (
        `v3` = CAST(1 AS FLOAT64)
      )
      THEN NOT `v6` BETWEEN CAST('0.1' AS FLOAT64) AND CAST(9 AS FLOAT64)
    END AS `r1`,
    CASE
      WHEN `v5` IS NULL
      THEN NULL
      WHEN `v5` <= CAST(3 AS FLOAT64)
      THEN `v7` > CAST(1 AS FLOAT64)
      ELSE `v7` > CAST(2 AS FLOAT64)
    END AS `r2`,
    CASE
      WHEN `v8` IN (CAST(1 AS FLOAT64), CAST(2 AS FLOAT64))
      THEN NOT (
        `v2` = 'Van'
      )
    END AS `r3`
  FROM sqrl_values_2
), sqrl_counts_1 AS (
  SELECT
    COUNT(`r1`) AS `a1`,
    COUNT(CASE WHEN `r1` THEN 1 END) AS `b1`,
    COUNT(`r2`) AS `a2`,
    COUNT(CASE WHEN `r2` THEN 1 END) AS `b2`,
    COUNT(`r3`) AS `a3`,
    COUNT(CASE WHEN `r3` THEN 1 END) AS `b3`
  FROM sqrl_outcomes_1
), sqrl_batches_4 AS (
  SELECT
    COUNT(*) AS `n_rows`,
    COUNT(
      CASE
        WHEN (
          NOT (
            `v2` = 'Car'
          ) IS NULL
        ) AND (
          `v4` > CAST(1 AS FLOAT64)
        )
        THEN 1
      END
    ) AS `g1`,
    COUNT(CASE WHEN (
      `v2` = 'Car'
    ) THEN 1 END) AS `g2`,
    COUNT(CASE WHEN (
      `v4` > CAST(1 AS FLOAT64)
    ) AND (
      `v2` = 'Car'
    ) THEN 1 END) AS `g3`,
    COUNT(CASE WHEN (
      NOT (
        `v2` = 'Car'
      ) IS NULL
    ) THEN 1 END) AS `g4`,
    AVG(CASE WHEN 2 * `v10` BETWEEN `v11` AND `v11` + 2 THEN `v9` END) AS `g5`
  FROM sqrl_values_2
  WHERE
    NOT `mini_batch` IS NULL
  GROUP BY
    `mini_batch`
), sqrl_outcomes_4 AS (
  SELECT
    CASE
      WHEN `n_rows` >= 256
      THEN NOT (
        (
          CAST(2 AS FLOAT64) * CAST(`g3` AS FLOAT64)
        ) / NULLIF((
          CAST(`g1` AS FLOAT64) + CAST(`g2` AS FLOAT64)
        ), CAST(0 AS FLOAT64))
      ) BETWEEN CAST('0.2' AS FLOAT64) AND CAST('0.4' AS FLOAT64)
    END AS `r4`,
    CASE
      WHEN `n_rows` >= 256
      AND `g5` BETWEEN CAST('-1.7976931348623157e+308' AS FLOAT64) AND CAST('1.7976931348623157e+308' AS FLOAT64)
      THEN NOT `g5` BETWEEN CAST(0 AS FLOAT64) AND CAST(3 AS FLOAT64)
    END AS `r5`
  FROM sqrl_batches_4
), sqrl_counts_4 AS (
  SELECT
    COUNT(`r4`) AS `a4`,
    COUNT(CASE WHEN `r4` THEN 1 END) AS `b4`,
    COUNT(`r5`) AS `a5`,
    COUNT(CASE WHEN `r5` THEN 1 END) AS `b5`
  FROM sqrl_outcomes_4
)
SELECT
  `rule` AS `rule`,
  `text` AS `text`,
  `applicable` AS `applicable`,
  `violations` AS `violations`,
  CAST(`applicable` AS FLOAT64) * `share` + CAST(3 AS FLOAT64) * SQRT(
    CAST(`applicable` AS FLOAT64) * `share` * (
      CAST(1 AS FLOAT64) - `share`
    ) * (
      CAST(1 AS FLOAT64) + CAST(`applicable` AS FLOAT64) / NULLIF(`learned_from`, CAST(0 AS FLOAT64))
    )
  ) AS `allowed`
FROM (
  SELECT
    `rule` AS `rule`,
    `text` AS `text`,
    CASE `rule` WHEN 1 THEN `a1` WHEN 2 THEN `a2` WHEN 3 THEN `a3` END AS `applicable`,
    CASE `rule` WHEN 1 THEN `b1` WHEN 2 THEN `b2` WHEN 3 THEN `b3` END AS `violations`,
    `share` AS `share`,
    `learned_from` AS `learned_from`
  FROM sqrl_counts_1
  CROSS JOIN UNNEST([
    STRUCT(
      1 AS `rule`,
      'type = Car and not wet => 0.1 <= width / height <= 9' AS `text`,
      CAST(0 AS FLOAT64) AS `share`,
      CAST(1 AS FLOAT64) AS `learned_from`
    ),
    STRUCT(
      2 AS `rule`,
      'sqrt(width) <= 1 if height <= 3 else sqrt(width) <= 2' AS `text`,
      CAST(0 AS FLOAT64) AS `share`,
      CAST(1 AS FLOAT64) AS `learned_from`
    ),
    STRUCT(
      3 AS `rule`,
      'grade in [1, 2] => type = Van' AS `text`,
      CAST(0 AS FLOAT64) AS `share`,
      CAST(1 AS FLOAT64) AS `learned_from`
    )
  ]) AS sqrl_rules
  UNION ALL
  SELECT
    `rule` AS `rule`,
    `text` AS `text`,
    CASE `rule` WHEN 4 THEN `a4` WHEN 5 THEN `a5` END AS `applicable`,
    CASE `rule` WHEN 4 THEN `b4` WHEN 5 THEN `b5` END AS `violations`,
    `share` AS `share`,
    `learned_from` AS `learned_from`
  FROM sqrl_counts_4
  CROSS JOIN UNNEST([
    STRUCT(
      4 AS `rule`,
      '0.2 <= f1(width > 1 => type = Car) <= 0.4 over 256' AS `text`,
      CAST(0 AS FLOAT64) AS `share`,
      CAST(1 AS FLOAT64) AS `learned_from`
    ),
    STRUCT(
      5 AS `rule`,
      'type = Car => 0 <= median(width) <= 3 over 256' AS `text`,
      CAST(0 AS FLOAT64) AS `share`,
      CAST(1 AS FLOAT64) AS `learned_from`
    )
  ]) AS sqrl_rules
) AS sqrl_counts
ORDER BY
  `rule`
