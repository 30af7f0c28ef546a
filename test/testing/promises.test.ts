import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bankingDomains } from '../../src/domains/index.ts'
import { promises } from '../../src/testing/index.ts'
import { bankingSamples, openToReaders } from '../harness/samples.ts'

promises(
  bankingDomains,
  { describe, test, beforeAll, afterAll, expect },
  { settings: { money: { transferApprovalFrom: { USD: '1.00' } } }, samples: bankingSamples, openToReaders },
)
