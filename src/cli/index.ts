import { auditVerify } from './audit-verify.ts'
import { configCheck } from './config-check.ts'
import { conformance } from './conformance.ts'
import { keysRotate } from './keys-rotate.ts'
import { ledgerVerify } from './ledger-verify.ts'
import { migrate } from './migrate.ts'
import { openapi } from './openapi.ts'
import { operatorCreate } from './operator-create.ts'
import { serve } from './serve.ts'

/** Every command of `portico`, two-word names before their first words. */
export const commands = [
  serve,
  migrate,
  configCheck,
  keysRotate,
  conformance,
  openapi,
  operatorCreate,
  ledgerVerify,
  auditVerify,
]
