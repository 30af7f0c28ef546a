import { expect, test } from 'vitest'
import { isDatabaseUnavailable, sqlState } from '../../src/database/errors.ts'

test('a broken socket: unavailable, and its code is not an SQLSTATE', () => {
  for (const code of ['EPIPE', 'ECONNRESET', 'ETIMEDOUT']) {
    const broken = Object.assign(new Error(`write ${code}`), { code })
    expect([code, sqlState(broken), isDatabaseUnavailable(broken)]).toEqual([code, undefined, true])
  }
})

test('an unreachable network: unavailable', () => {
  for (const code of ['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN'])
    expect([code, isDatabaseUnavailable(Object.assign(new Error(`read ${code}`), { code }))]).toEqual([code, true])
})

test.each([
  ['08006', true],
  ['25006', true],
  ['25P03', true],
  ['25P04', true],
  ['40001', true],
  ['53300', true],
  ['55P03', true],
  ['57P01', true],
  ['58030', true],
  ['22P02', false],
  ['23505', false],
  ['25001', false],
  ['25P02', false],
  ['42P01', false],
  ['ECONNREFUSED', true],
  ['ENOTFOUND', true],
  ['EAI_AGAIN', true],
  ['ENOSPC', true],
  ['ENOENT', false],
])('%s means that the store is unavailable: %s', (code, fault) => {
  expect(isDatabaseUnavailable(Object.assign(new Error('no'), { code }))).toBe(fault)
})

test('the driver’s connection errors: unavailable', () => {
  for (const message of [
    'timeout exceeded when trying to connect',
    'Connection terminated unexpectedly',
    'Query read timeout',
    'Client has encountered a connection error and is not queryable',
  ])
    expect([message, isDatabaseUnavailable(new Error(message))]).toEqual([message, true])
  for (const other of [new Error('no'), { code: '08006' }, null]) expect(isDatabaseUnavailable(other)).toBe(false)
})
