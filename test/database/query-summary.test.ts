import { expect, test } from 'vitest'
import { summarizeQuery } from '../../src/database/query-summary.ts'

test.each([
  ['select "id" from "wallets" where "id" = $1 for update', 'SELECT', 'SELECT wallets'],
  ['select extract(epoch from "at") as "at", trim(both from x) from "flows"', 'SELECT', 'SELECT flows'],
  ['select a, array(select b from c) as b from "accounts" where (d in (select 1 from e))', 'SELECT', 'SELECT accounts'],
  ['select 1 where $1 is distinct from $2', 'SELECT', 'SELECT'],
  ['insert into "flows" ("id") values ($1) on conflict do update set "a" = 1', 'INSERT', 'INSERT flows'],
  ['update only wallets set a = $1', 'UPDATE', 'UPDATE wallets'],
  ['delete from "jobs" where "id" in (select "id" from "jobs")', 'DELETE', 'DELETE jobs'],
  ['with a as (select * from wallets for update) select * from a', 'SELECT', 'SELECT wallets'],
  [
    '  WITH a AS (UPDATE wallets SET x = 1 RETURNING id) INSERT INTO flows SELECT * FROM a',
    'UPDATE',
    'UPDATE wallets INSERT flows',
  ],
  ['select \'delete from bob@example.com\' -- update alice\n from "accounts"', 'SELECT', 'SELECT accounts'],
  ["select '/* it''s ' as a, '*/ update eve' from accounts /* delete from x */", 'SELECT', 'SELECT accounts'],
  ['COMMIT', 'COMMIT', 'COMMIT'],
  ['', '', ''],
])('the summary of %s names operations and tables, and no values', (text, operation, summary) => {
  expect(summarizeQuery(text)).toEqual({ operation, text: summary })
})

test('the summary of a long statement is bounded', () => {
  const writes = Array.from({ length: 1_000 }, (_, index) => `update t${index} set a = 1;`)
  expect(summarizeQuery(writes.join('\n')).text.split(' UPDATE ')).toHaveLength(12)
})
