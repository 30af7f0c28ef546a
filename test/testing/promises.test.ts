import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bankingDomains } from '../../src/banking/index.ts'
import { promises } from '../../src/testing/index.ts'
import { bankingSamples, openToReaders } from '../harness/samples.ts'

const settings = {
  money: { transferApprovalFrom: { USD: '1.00' } },
  // Most tests create a workspace.
  access: { workspaces: { maxPerAccount: 1_000 } },
}

// The sessions of this gateway have tokens, and links need a cookie.
const samples = Object.fromEntries(Object.entries(bankingSamples).filter(([id]) => !id.endsWith('.link')))

// test/e2e registers these for every operation, also for those of identity, which are in no domain. Its gateways report an
// undeclared refusal as a fault.
const endToEnd = ['perimeter', 'tenancy', 'read-only roles', 'validation']

promises(
  bankingDomains,
  {
    describe: (name, define) => (endToEnd.includes(name) ? undefined : describe(name, define)),
    test,
    beforeAll,
    afterAll,
    expect,
  },
  { settings, samples, openToReaders, unaudited: ['exchanges.quote', 'recharges.quote'] },
)
