import { createMembers, type Members, memberSettings, membershipSettings } from '../../banking/members/index.ts'
import { hasWorkspace, lockWorkspace } from '../../banking/workspaces/index.ts'
import { wordsOf } from '../../compose/catalogue.ts'
import { catalogueOf, type Loaded, parseSettings } from '../../compose/extensions.ts'
import type { Configuration } from '../../config/index.ts'
import type { Database } from '../../database/index.ts'
import { storePorts } from '../store.ts'

/** The members of workspaces, as a gateway with these settings has them. */
export function membersIn(database: Database, loaded: Loaded['domains'], settings: Configuration): Members {
  const catalogue = catalogueOf(loaded)
  const own = memberSettings.parse(parseSettings(loaded, settings).get('members'))
  return createMembers({
    ...storePorts(database),
    words: wordsOf(catalogue, loaded),
    permissionTable: catalogue.permissionTable.workspace,
    settings: membershipSettings(own, settings.mfa.stepUpMs),
    lockWorkspace,
    hasWorkspace: (id) => hasWorkspace(database, id),
  })
}
