import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bankingDomains } from '../../src/banking/index.ts'
import { promises } from '../../src/testing/index.ts'
import { bankingSamples, openToReaders } from '../harness/samples.ts'

// The operations of identity are in no domain. test/e2e passes them to the same `register` functions.

const settings = {
  money: { transferApprovalFrom: { USD: '1.00' } },
  // Most tests create a workspace.
  access: { workspaces: { maxPerAccount: 1_000 } },
}

promises(
  bankingDomains,
  { describe, test, beforeAll, afterAll, expect },
  { settings, samples: bankingSamples, openToReaders, unaudited: ['exchanges.quote', 'recharges.quote'] },
)
