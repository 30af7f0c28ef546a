import { sqlMigration } from '../database/index.ts'
import { accounts } from './accounts/schema.ts'
import { ipWhitelist } from './ip-whitelist/schema.ts'
import { login } from './login/schema.ts'
import { mfa } from './mfa/schema.ts'
import { passwords } from './passwords/schema.ts'
import { secureChannel } from './secure-channel/schema.ts'
import { sessions } from './sessions/schema.ts'
import { tokens } from './tokens/schema.ts'

/** Each capability defines its tables in its own `schema.ts`. All of them reference `accounts`, and tokens `sessions`. */
export const migrations = [
  sqlMigration('001-baseline', [
    ...accounts,
    ...sessions,
    ...tokens,
    ...secureChannel,
    ...login,
    ...mfa,
    ...ipWhitelist,
    ...passwords,
  ]),
]
