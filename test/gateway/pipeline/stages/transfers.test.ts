import { expect, test } from 'vitest'
import { downloadFile, readFile, uploadFile } from '../../../../src/domains/files/contract.ts'
import type { Call } from '../../../../src/gateway/pipeline/call.ts'
import { transferLimitStage } from '../../../../src/gateway/pipeline/stages/index.ts'
import { type AccountId, type Operation, Refusal } from '../../../../src/kernel/index.ts'
import { systemIds } from '../../../../src/platform/runtime/index.ts'
import { arrivedCall } from '../../../harness/call.ts'

const callOf = (operation: Operation, accountId: AccountId, apiKeyId: string | null = null): Call => {
  const call = arrivedCall(operation)
  const caller = { portal: 'CONSUMER', sessionId: null, steppedUpAt: null, permissions: new Set<never>() } as const
  call.caller = { ...caller, accountId, apiKeyId: apiKeyId === null ? null : systemIds.next<'apiKey'>() }
  return call
}

test('uploads and downloads of an account share a limit, which ends with the response', () => {
  let refused = 0
  const stage = transferLimitStage({ maxTransfersPerAccount: 2 }, () => {
    refused += 1
  })
  const run = (call: Call): Call => {
    void stage(call)
    return call
  }
  const account = systemIds.next<'account'>()
  const upload = run(callOf(uploadFile, account))
  run(callOf(downloadFile, account))
  const codeOf = (call: Call): string => {
    try {
      run(call)
      return 'none'
    } catch (error) {
      return error instanceof Refusal ? error.code : 'unknown'
    }
  }
  expect(codeOf(callOf(downloadFile, account))).toBe('ACCESS.RATE_LIMITED')
  expect(refused).toBe(1)
  expect(codeOf(callOf(readFile, account))).toBe('none')
  expect(codeOf(callOf(downloadFile, account, 'key'))).toBe('none')
  expect(codeOf(callOf(downloadFile, systemIds.next<'account'>()))).toBe('none')
  upload.onFinished?.()
  expect(codeOf(callOf(downloadFile, account))).toBe('none')
  expect(codeOf(callOf(downloadFile, account))).toBe('ACCESS.RATE_LIMITED')
})
