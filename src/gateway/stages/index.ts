import { authenticate } from './authenticate.ts'
import { body } from './body.ts'
import { clientHash } from './client-hash.ts'
import { edge } from './edge.ts'
import { idempotency } from './idempotency.ts'
import { judgedAgain, judgedBefore } from './judged-again.ts'
import { addressLimit, addressSpender, callerLimit, unmatchedLimit } from './limits.ts'
import { permission } from './permission.ts'
import { portalAccessCode } from './portal.ts'
import { requiredHeaders } from './required-headers.ts'
import { forgettingRights } from './rights.ts'
import { secureChannel } from './secure-channel.ts'
import { serve } from './serve.ts'
import { validate } from './validate.ts'
import { workspace } from './workspace.ts'

export const stages = {
  edge,
  portalAccessCode,
  addressSpender,
  addressLimit,
  unmatchedLimit,
  requiredHeaders,
  clientHash,
  authenticate,
  workspace,
  permission,
  callerLimit,
  body,
  judgedAgain,
  judgedBefore,
  secureChannel,
  validate,
  idempotency,
  serve,
  forgettingRights,
}
