import type { Options } from '../options.ts'
import type { Outcome } from '../report/outcome.ts'
import type { Rig } from '../rig/workspace.ts'
import { allCoresGet, allCoresPost } from './all-cores.ts'
import { encryptedPost } from './encrypted.ts'
import { eventsOnPostgres } from './events.ts'
import { inProcessGet } from './in-process.ts'
import { logins } from './logins.ts'
import { mixedDayScenario } from './mixed.ts'
import { proxiedGet, proxiedPost } from './proxied.ts'
import { loginStorm } from './storm.ts'
import { transfersOnPglite, transfersOnPostgres } from './transfers.ts'
import { withoutChecks } from './without-checks.ts'

export type Scenario = (rig: Rig, options: Options) => Promise<Outcome>

/** In the order in which they run. */
export const scenarios: Record<string, Scenario> = {
  'proxied-get': proxiedGet,
  'proxied-post': proxiedPost,
  'all-cores-get': allCoresGet,
  'all-cores-post': allCoresPost,
  'without-checks': withoutChecks,
  'in-process-get': inProcessGet,
  'encrypted-post': encryptedPost,
  logins,
  'login-storm': loginStorm,
  'transfers-pglite': transfersOnPglite,
  'transfers-postgres': transfersOnPostgres,
  events: eventsOnPostgres,
  'mixed-day': mixedDayScenario,
}
