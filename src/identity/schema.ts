import { sqlMigration } from '../database/index.ts'
import { accountEvents, accountLists, accountPortals, accounts, accountTotals } from './accounts/schema.ts'
import { attempts } from './attempts/schema.ts'
import { codes, earlierCodes } from './codes/schema.ts'
import { devices } from './devices/schema.ts'
import { ipWhitelist } from './ip-whitelist/schema.ts'
import { lockout } from './lockout/schema.ts'
import { formerFactors, issuedFactors, mfa, shownSecrets } from './mfa/schema.ts'
import { enrollments, passwords, undoLinks } from './passwords/schema.ts'
import { providers } from './providers/schema.ts'
import { secureChannel } from './secure-channel/schema.ts'
import {
  cookies,
  loginHistory,
  loginPartitions,
  sessionEvents,
  sessionKeys,
  sessions,
  signInMethods,
} from './sessions/schema.ts'
import { stepUps } from './step-ups/schema.ts'
import { tickets } from './tickets/schema.ts'
import { tokens } from './tokens/schema.ts'
import { enrolledPasskeys, passkeys } from './webauthn/schema.ts'

/** Tables that others reference must come first. */
export const migrations = [
  sqlMigration('001-baseline', [
    ...accounts,
    ...devices,
    ...sessions,
    ...tokens,
    ...secureChannel,
    ...attempts,
    ...codes,
    ...lockout,
    ...loginHistory,
    ...mfa,
    ...ipWhitelist,
    ...passwords,
  ]),
  sqlMigration('002-account-lists', accountLists),
  sqlMigration('003-suspicious-factors', [...formerFactors, ...undoLinks]),
  sqlMigration('004-step-ups', stepUps),
  sqlMigration('005-issued-factors', issuedFactors),
  sqlMigration('006-shown-once', [...shownSecrets, ...earlierCodes]),
  sqlMigration('007-browser-sessions', cookies),
  sqlMigration('008-tickets', tickets),
  sqlMigration('009-events', [...accountEvents, ...sessionEvents]),
  sqlMigration('010-sign-in-methods', signInMethods),
  sqlMigration('011-passkeys', [...passkeys, ...enrollments]),
  sqlMigration('012-identity-providers', providers),
  sqlMigration('013-session-keys', sessionKeys),
  sqlMigration('014-enrolled-passkeys', enrolledPasskeys),
  sqlMigration('015-account-totals', accountTotals),
  sqlMigration('016-portals', accountPortals),
  sqlMigration('017-partitions', loginPartitions),
]
