import { useQuery } from '@tanstack/react-query'
import { type AllWebhook, readWebhook } from 'portal-client'
import { useState } from 'react'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { Secret } from '../../kit/command/secret.tsx'
import { Facts } from '../../kit/facts.tsx'
import { t } from '../../kit/i18n.ts'
import { Page, Section } from '../../kit/page.tsx'
import { useParameter } from '../../kit/pages.tsx'
import { usePermission } from '../../kit/session.tsx'
import { QueryView } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { Lacking } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'
import { WebhookCommands } from './commands.tsx'
import { Deliveries } from './deliveries.tsx'
import { EventTypes, WebhookStatus } from './parts.tsx'

/** A webhook with its delivery log. */
export default function WebhookPage() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const id = useParameter('webhook')
  const query = useQuery({
    queryKey: ['webhook', workspaceId, id],
    queryFn: () => client.call(readWebhook, { workspaceId, params: { webhook_id: id } }),
  })
  return (
    <Page title={query.data?.url ?? t('webhooks.webhook')} actions={<Link href="/webhooks">{t('webhooks.all')}</Link>}>
      <QueryView query={query}>{(webhook) => <Details webhook={webhook} />}</QueryView>
      <Section title={t('webhooks.deliveries')}>
        <Deliveries webhookId={id} />
      </Section>
    </Page>
  )
}

function Details({ webhook }: { webhook: AllWebhook }) {
  const mayManage = usePermission('webhook:manage')
  const [secret, setSecret] = useState<string | null>(null)
  const { webhookStatus, eventTypes, description, createdAt, failingSince, previousSecretUntil } = webhook
  return (
    <>
      <Facts
        facts={[
          [t('webhooks.status'), <WebhookStatus key="status" status={webhookStatus} />],
          [t('webhooks.eventTypes'), <EventTypes key="types" types={eventTypes} />],
          ...(description === '' ? [] : [[t('webhooks.description'), description] as const]),
          [t('webhooks.created'), <Time key="created" at={createdAt} />],
          ...(failingSince === null
            ? []
            : [[t('webhooks.failingSince'), <Time key="failingSince" at={failingSince} />] as const]),
          ...(previousSecretUntil === null
            ? []
            : [
                [
                  t('webhooks.previousSecretUntil'),
                  <Time key="previousSecretUntil" at={previousSecretUntil} />,
                ] as const,
              ]),
        ]}
      />
      {secret !== null && (
        <Section title={t('webhooks.newSecret')}>
          <p className="hint">{t('webhooks.secretHint')}</p>
          <Secret label={t('webhooks.secret')} value={secret} />
        </Section>
      )}
      {mayManage ? <WebhookCommands webhook={webhook} onSecret={setSecret} /> : <Lacking permission="webhook:manage" />}
    </>
  )
}
