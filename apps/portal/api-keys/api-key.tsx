import { useQuery } from '@tanstack/react-query'
import { type AllApiKey, readApiKey } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { Facts } from '../../kit/facts.tsx'
import { t } from '../../kit/i18n.ts'
import { Page, Section } from '../../kit/page.tsx'
import { useParameter } from '../../kit/pages.tsx'
import { QueryView } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { Lacking } from '../permissions/permissions.tsx'
import { PermissionList } from '../permissions/tree.tsx'
import { useWorkspace } from '../workspace.tsx'
import { ApiKeyCommands } from './commands.tsx'
import { Expiry, KeyStatus } from './parts.tsx'

/** An API key without its secret. */
export default function ApiKeyPage() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const id = useParameter('key')
  const query = useQuery({
    queryKey: ['api-key', workspaceId, id],
    queryFn: () => client.call(readApiKey, { workspaceId, params: { api_key_id: id } }),
  })
  return (
    <Page
      title={query.data?.apiKeyName ?? t('api-keys.key')}
      actions={<Link href="/api-keys">{t('api-keys.all')}</Link>}
    >
      <QueryView query={query}>{(key) => <Details apiKey={key} />}</QueryView>
    </Page>
  )
}

function Details({ apiKey }: { apiKey: AllApiKey }) {
  const { keyPrefix, keyLast4, credential, credentialThumbprint, ipAllowlist, lastUsedAt, lastUsedIp } = apiKey
  return (
    <>
      <Facts
        facts={[
          [t('api-keys.status'), <KeyStatus key="status" status={apiKey.apiKeyStatus} />],
          [
            t('api-keys.prefix'),
            <code key="prefix">{credentialThumbprint === null ? `${keyPrefix}…${keyLast4}` : keyPrefix}</code>,
          ],
          [t('api-keys.credential'), credential.label],
          ...(credentialThumbprint === null
            ? []
            : [[t('api-keys.thumbprint'), <code key="thumbprint">{credentialThumbprint}</code>] as const]),
          [t('api-keys.created'), <Time key="created" at={apiKey.createdAt} />],
          [t('api-keys.expires'), <Expiry key="expiry" apiKey={apiKey} />],
          [
            t('api-keys.lastUsed'),
            <span key="lastUsed">
              <Time at={lastUsedAt} none={t('api-keys.never')} /> {lastUsedIp}
            </span>,
          ],
          [t('api-keys.addresses'), ipAllowlist.length === 0 ? t('api-keys.anyAddress') : ipAllowlist.join(', ')],
        ]}
      />
      <Lacking permission="api-key:manage" />
      <ApiKeyCommands apiKey={apiKey} />
      <Section title={t('permissions.title')}>
        <PermissionList codes={apiKey.permissionCodes} />
      </Section>
    </>
  )
}
