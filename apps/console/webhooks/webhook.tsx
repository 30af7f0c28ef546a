import { useQuery } from '@tanstack/react-query'
import { type AllWebhook, listAllWebhooks } from 'portal-client'
import { client } from '../../kit/client.ts'
import { Facts } from '../../kit/facts.tsx'
import { t } from '../../kit/i18n.ts'
import { Page, Section } from '../../kit/page.tsx'
import { useParameter } from '../../kit/pages.tsx'
import { Empty, QueryView } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { AccountLink, WorkspaceLink } from '../records/links.tsx'
import { WorkspaceZone } from '../records/workspace-zone.tsx'
import { AnyCommands } from './any-commands.tsx'
import { Deliveries } from './deliveries.tsx'
import { PlatformCommands } from './platform-commands.tsx'
import { WebhookBadge } from './status.tsx'

/** A webhook with its deliveries. */
export default function Webhook() {
  const webhookId = useParameter('webhookId')
  const query = useQuery({ queryKey: ['webhook', webhookId], queryFn: () => findWebhook(webhookId) })
  return (
    <Page title={query.data?.url ?? t('webhooks.one')}>
      <QueryView query={query}>
        {(webhook) => (webhook === null ? <Empty title={t('webhooks.unknown')} /> : <Found webhook={webhook} />)}
      </QueryView>
    </Page>
  )
}

function Found({ webhook }: { webhook: AllWebhook }) {
  const isOfDeployment = webhook.workspaceBizId === null
  return (
    <WorkspaceZone id={webhook.workspaceBizId}>
      <Section title={t('webhooks.facts')}>
        <Facts facts={factsOf(webhook)} />
      </Section>
      <Section title={t('records.actions')}>
        {isOfDeployment ? <PlatformCommands webhook={webhook} /> : <AnyCommands webhook={webhook} />}
      </Section>
      <Section title={t('webhooks.deliveries')}>
        <Deliveries webhookId={webhook.bizId} canResend={isOfDeployment} />
      </Section>
    </WorkspaceZone>
  )
}

function factsOf(webhook: AllWebhook) {
  const { workspaceBizId, failingSince, previousSecretUntil } = webhook
  return [
    [t('webhooks.status'), <WebhookBadge key="status" status={webhook.webhookStatus} />],
    [
      t('webhooks.owner'),
      workspaceBizId === null ? t('webhooks.deployment') : <WorkspaceLink key="owner" id={workspaceBizId} />,
    ],
    [t('webhooks.description'), webhook.description || t('records.nobody')],
    [t('webhooks.eventTypes'), webhook.eventTypes.join(', ')],
    [t('webhooks.createdBy'), <AccountLink key="creator" id={webhook.createdBy} />],
    [t('webhooks.actsFor'), <AccountLink key="actor" id={webhook.actsFor} />],
    [t('webhooks.failingSince'), <Time key="failingSince" at={failingSince} />],
    [t('webhooks.previousSecret'), <Time key="previousSecret" at={previousSecretUntil} />],
    [t('records.created'), <Time key="created" at={webhook.createdAt} />],
    [t('records.id'), <code key="id">{webhook.bizId}</code>],
  ] as const
}

async function findWebhook(webhookId: string): Promise<AllWebhook | null> {
  return (await client.call(listAllWebhooks, { query: { webhookId } })).items[0] ?? null
}
