import { declaredBy, domain } from '../../api/domain.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import { provisioningSettings } from './rules.ts'
import { migrations } from './schema.ts'

/*
 * SCIM 2.0 for identity providers such as Entra ID and Okta: they create and suspend operators, and their groups propose
 * permissions. Start reading in `people.ts`; `command.ts` runs every command.
 */

export default domain({
  name: 'provisioning',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  migrations,
  settings: provisioningSettings,
  settingsKey: 'access.provisioning',
  defaults: { maxUsers: 2_000, maxGroups: 200 },
  uses: ['apiKeys', 'proposals'],
  needs: ['database', 'deployment', 'ids', 'sessions', 'transaction'],
  create: ({ use, deployment, sessions, ...ports }) => ({
    handlers: createHandlers({
      ...ports,
      providers: deployment.identityProviders,
      keys: use('apiKeys').operatorKeys,
      applyProviderRights: use('proposals').applyProviderRights,
      endSessions: sessions.end,
      onSessionsEnded: sessions.invalidate,
    }),
  }),
})
