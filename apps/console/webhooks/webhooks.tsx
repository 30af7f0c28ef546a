import { type AllWebhook, createPlatformWebhook, listAllWebhooks } from 'portal-client'
import { Link, useSearchParams } from 'wouter'
import { client } from '../../kit/client.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { Time } from '../../kit/time.tsx'
import { ExportRows } from '../records/export-rows.tsx'
import { Filters, oneOf } from '../records/filters.tsx'
import { WorkspaceLink } from '../records/links.tsx'
import { SecretCommand } from '../records/secret-command.tsx'
import { bodyOf, WebhookFields } from './fields.tsx'
import { statuses, WebhookBadge } from './status.tsx'

/** The webhooks of all workspaces and of the deployment. */
export default function Webhooks() {
  const [search] = useSearchParams()
  const query = {
    webhookStatus: oneOf(statuses, search.get('status')),
    workspaceId: search.get('workspaceId') ?? undefined,
  }
  return (
    <Page title={t('webhooks.title')} actions={<Create />}>
      <Filters label={t('webhooks.filters')} filters={filters} />
      <ListQuery
        queryKey={['webhooks', query]}
        read={(before) => client.call(listAllWebhooks, { query: { ...query, before } })}
        empty={t('webhooks.empty')}
      >
        {(webhooks) => (
          <>
            <Table
              label={t('webhooks.title')}
              items={webhooks}
              keyOf={({ bizId }) => bizId}
              columns={[
                { title: t('webhooks.url'), cell: ({ bizId, url }) => <Link href={`/webhooks/${bizId}`}>{url}</Link> },
                { title: t('webhooks.owner'), cell: (webhook) => <Owner webhook={webhook} /> },
                { title: t('webhooks.status'), cell: ({ webhookStatus }) => <WebhookBadge status={webhookStatus} /> },
                {
                  title: t('webhooks.failingSince'),
                  cell: ({ failingSince }) => <Time at={failingSince} />,
                },
                { title: t('records.created'), cell: ({ createdAt }) => <Time at={createdAt} /> },
              ]}
            />
            <ExportRows name="webhooks" header={header} rows={() => webhooks.map(rowOf)} />
          </>
        )}
      </ListQuery>
    </Page>
  )
}

function Owner({ webhook: { workspaceBizId } }: { webhook: AllWebhook }) {
  return workspaceBizId === null ? t('webhooks.deployment') : <WorkspaceLink id={workspaceBizId} />
}

function Create() {
  return (
    <SecretCommand
      label={t('webhooks.create')}
      question={t('webhooks.createAbout')}
      permission="webhook:manage"
      run={async (form) => {
        const { secret } = await client.call(createPlatformWebhook, { body: bodyOf(form) })
        return secret
      }}
    >
      <WebhookFields />
    </SecretCommand>
  )
}

const filters = [
  {
    name: 'status',
    label: t('webhooks.status'),
    options: statuses.map((value) => ({ value, label: t(`webhooks.status_${value}`) })),
  },
  { name: 'workspaceId', label: t('workspaces.workspaceId') },
]

const header = ['bizId', 'url', 'workspaceBizId', 'webhookStatus', 'eventTypes', 'failingSince', 'createdAt']

function rowOf({ bizId, url, workspaceBizId, webhookStatus, eventTypes, failingSince, createdAt }: AllWebhook) {
  return [bizId, url, workspaceBizId, webhookStatus.code, eventTypes.join(' '), failingSince, createdAt]
}
