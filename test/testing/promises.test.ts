import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bankingDomains } from '../../src/domains/index.ts'
import { promises } from '../../src/testing/index.ts'

promises(bankingDomains, { describe, test, beforeAll, afterAll, expect })
