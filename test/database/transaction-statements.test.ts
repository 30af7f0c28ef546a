import { expect, test } from 'vitest'
import { assertNoTransactionControl } from '../../src/database/running-transaction.ts'

test.each([
  ['COMMIT', 'COMMIT'],
  ['  \n\tcommit', 'COMMIT'],
  ['-- a note\nCoMmIt', 'COMMIT'],
  ['/* a /* nested */ note */ ROLLBACK', 'ROLLBACK'],
  ["/* don't */ COMMIT; --'", 'COMMIT'],
  ['rollback and chain', 'ROLLBACK'],
  ['BEGIN', 'BEGIN'],
  ['END', 'END'],
  ['abort work', 'ABORT'],
  ['START /* now */ TRANSACTION', 'START'],
  ["PREPARE TRANSACTION 'x'", 'PREPARE'],
  ["COMMIT PREPARED 'x'", 'COMMIT'],
  ["SELECT 'a;b'; COMMIT", 'COMMIT'],
  [String.raw`SELECT E'\'; '; COMMIT; --'`, 'COMMIT'],
  [';;COMMIT', 'COMMIT'],
  ["SELECT $tag$ ' $tag$; END", 'END'],
  ['SELECT $$ $1 $$; COMMIT', 'COMMIT'],
  ['ROLLBACK; SAVEPOINT "to"', 'ROLLBACK'],
  ['ROLLBACK /* to */', 'ROLLBACK'],
])('%s: is transaction control', (text, keyword) => {
  expect(() => assertNoTransactionControl(text)).toThrow(`${keyword} is not a statement of a command: return or throw`)
})

test.each([
  ['SELECT 1'],
  ["SELECT 'x; COMMIT'"],
  [String.raw`SELECT E'\'; COMMIT; --'`],
  ['SELECT 1 -- ; COMMIT'],
  ['/* COMMIT; */ SELECT 1'],
  ['/* a /* b */ ; COMMIT; */ SELECT 1'],
  ['DO $$ BEGIN PERFORM 1; COMMIT; END $$'],
  ['DO $body$ BEGIN; COMMIT; $$ END $body$'],
  ['SELECT "a; commit" FROM commits'],
  ['UPDATE t SET end = 1'],
  ['SELECT CASE WHEN true THEN 1\nEND'],
  ['SAVEPOINT a'],
  ['ROLLBACK TO a'],
  ['rollback work to savepoint a'],
  ['RELEASE a'],
  ['PREPARE a AS SELECT 1'],
  ["SET LOCAL lock_timeout = '2s'"],
  ['COMMENT ON TABLE t IS NULL'],
  ['CREATE TABLE endings (id int)'],
])('%s: is part of its transaction', (text) => {
  expect(() => assertNoTransactionControl(text)).not.toThrow()
})
