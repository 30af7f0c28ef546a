import { expect, test, vi } from 'vitest'
import { downloadFile, readFile, uploadFile } from '../../../../src/banking/files/contract.ts'
import type { Call } from '../../../../src/gateway/pipeline/call.ts'
import { transferLimitStage } from '../../../../src/gateway/pipeline/stages/index.ts'
import { type AccountId, type Operation, Refusal } from '../../../../src/kernel/index.ts'
import { systemIds } from '../../../../src/platform/runtime/index.ts'
import { arrivedCall } from '../../../harness/call.ts'
import { readReport } from '../../../harness/raw-operation.ts'

function callOf(operation: Operation, accountId: AccountId | null, apiKeyId: string | null = null): Call {
  const call = arrivedCall(operation)
  if (accountId === null) return call
  const caller = { portal: 'CONSUMER', sessionId: null, steppedUpAt: null, permissions: new Set<never>() } as const
  call.caller = { ...caller, accountId, apiKeyId: apiKeyId === null ? null : systemIds.next<'apiKey'>() }
  return call
}
function callFrom(operation: Operation, clientIp: string): Call {
  return Object.assign(callOf(operation, null), { clientIp })
}

function startStage() {
  const refused = vi.fn()
  const stage = transferLimitStage({
    settings: { maxTransfersPerAccount: 2, maxTransfersPerAddress: 1 },
    addressKey: (address) => address.slice(0, 8),
    onRefused: refused,
  })
  const run = (call: Call): Call => {
    void stage(call)
    return call
  }
  const codeOf = (call: Call): string => {
    try {
      run(call)
      return 'none'
    } catch (error) {
      return error instanceof Refusal ? error.code : 'unknown'
    }
  }
  return { run, codeOf, refused }
}

/** The operation of a prefix has the same body and reply. */
const importFeed: Operation = { ...readReport, id: 'feed.import', method: 'POST', body: 'raw' }
const watchFeed: Operation = { ...readReport, id: 'feed.watch', reply: 'events' }

test('files.download 429 ACCESS.RATE_LIMITED: uploads and downloads of an account share a limit', () => {
  const { run, codeOf, refused } = startStage()
  const account = systemIds.next<'account'>()
  const upload = run(callOf(uploadFile, account))
  run(callOf(downloadFile, account))
  expect(codeOf(callOf(downloadFile, account))).toBe('ACCESS.RATE_LIMITED')
  expect(refused).toHaveBeenCalledOnce()
  expect(codeOf(callOf(readFile, account))).toBe('none')
  expect(codeOf(callOf(downloadFile, account, 'key'))).toBe('none')
  expect(codeOf(callOf(downloadFile, systemIds.next<'account'>()))).toBe('none')
  upload.onFinished?.()
  expect(codeOf(callOf(downloadFile, account))).toBe('none')
  expect(codeOf(callOf(downloadFile, account))).toBe('ACCESS.RATE_LIMITED')
})

test('feed.report 429 ACCESS.RATE_LIMITED: raw requests share the limit of uploads and downloads', () => {
  const { run, codeOf } = startStage()
  const account = systemIds.next<'account'>()
  const report = run(callOf(readReport, account))
  run(callOf(importFeed, account))
  for (const each of [readReport, importFeed, downloadFile])
    expect(codeOf(callOf(each, account)), each.id).toBe('ACCESS.RATE_LIMITED')
  expect(codeOf(callOf(watchFeed, account))).toBe('none')
  report.onFinished?.()
  expect(codeOf(callOf(readReport, account))).toBe('none')
})

test('feed.report 429 ACCESS.RATE_LIMITED: requests without a caller are counted by their address', () => {
  const { run, codeOf } = startStage()
  const first = run(callFrom(readReport, '10.0.0.1'))
  expect(codeOf(callFrom(readReport, '10.0.0.1'))).toBe('ACCESS.RATE_LIMITED')
  expect(codeOf(callFrom(readReport, '10.0.0.2'))).toBe('none')
  expect(codeOf(callOf(readReport, systemIds.next<'account'>()))).toBe('none')
  first.onFinished?.()
  expect(codeOf(callFrom(readReport, '10.0.0.1'))).toBe('none')
})
