import { describe, expect, test } from 'vitest'
import { listTimezones } from '../../../../src/domains/constants/contract.ts'
import { listTransfers } from '../../../../src/domains/transfers/contract.ts'
import { validateStage } from '../../../../src/gateway/pipeline/stages/index.ts'
import { logout } from '../../../../src/identity/login/contract.ts'
import { closeSecureChannel } from '../../../../src/identity/secure-channel/contract.ts'
import type { ChainId, Operation } from '../../../../src/kernel/index.ts'
import { testSettings } from '../../../harness/settings.ts'
import { portalCall, refused } from './portal-call.ts'

const invalid = 'VALIDATION.INVALID_PARAMETER'

describe('a query', () => {
  const settings = testSettings({})
  const checked = (operation: Operation, query: string, chainId: ChainId = 'consumer') =>
    refused(() => validateStage(settings)(portalCall(operation, {}, chainId, query)))

  test('500 for a missing query on portals with the observed errors only', async () => {
    settings.portals.CONSUMER.compatibility.observedErrors = true
    expect(await checked(listTransfers, '')).toEqual(['SYSTEM.INTERNAL_ERROR', undefined])
    expect(await checked(listTransfers, '', 'api')).toBeUndefined()
    settings.portals.CONSUMER.compatibility.observedErrors = false
    expect(await checked(listTransfers, '')).toEqual([invalid, 'query'])
  })

  test('500 without a channel session to close, 400 without the observed errors', async () => {
    settings.portals.CONSUMER.compatibility.observedErrors = true
    expect(await checked(closeSecureChannel, '')).toEqual(['SYSTEM.INTERNAL_ERROR', undefined])
    settings.portals.CONSUMER.compatibility.observedErrors = false
    expect(await checked(closeSecureChannel, '')).toEqual([invalid, 'x-secure-channel-session-id'])
    const atSystem = portalCall(closeSecureChannel, {}, 'system')
    atSystem.portal = 'SYSTEM'
    settings.portals.SYSTEM.compatibility.observedErrors = true
    expect(await refused(() => validateStage(settings)(atSystem))).toEqual(['SYSTEM.INTERNAL_ERROR', undefined])
  })

  test('an undeclared name is refused, and named if it is printable', async () => {
    expect(await checked(listTimezones, 'odd=1')).toEqual([invalid, 'odd'])
    expect(await checked(listTimezones, '%3Cb%3E=1')).toEqual([invalid, 'query'])
    expect(await checked(listTimezones, `${'a'.repeat(65)}=1`)).toEqual([invalid, 'query'])
    expect(await checked(listTransfers, '%3Cb%3E=1')).toEqual([invalid, 'query'])
  })
})

test.each<[unknown, boolean]>([
  [undefined, true],
  [{}, true],
  [{ surprise: 1 }, false],
  [[], false],
  [null, false],
  ['', false],
  [0, false],
])('an operation without a body accepts %j: %s', async (payload, isTaken) => {
  const call = portalCall(logout)
  call.payload = payload
  expect(await refused(() => validateStage(testSettings({}))(call))).toEqual(isTaken ? undefined : [invalid, 'body'])
})
