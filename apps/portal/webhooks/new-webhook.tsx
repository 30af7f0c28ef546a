import { createWebhook, type Webhook } from 'portal-client'
import { useState } from 'react'
import { Link } from 'wouter'
import { refreshData } from '../../kit/app.tsx'
import { client } from '../../kit/client.ts'
import { Secret } from '../../kit/command/secret.tsx'
import { Form, TextField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Page, Section } from '../../kit/page.tsx'
import { notify } from '../../kit/toasts.tsx'
import { useWorkspace } from '../workspace.tsx'
import { chosenTypes, EventTypeFields } from './parts.tsx'

/** Creates a webhook and shows its secret once. */
export default function NewWebhook() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const [created, setCreated] = useState<Webhook | null>(null)
  const create = async (values: Values, form: HTMLFormElement): Promise<void> => {
    const description = values('description')
    const body = { url: values('url'), eventTypes: chosenTypes(form), ...(description !== '' && { description }) }
    setCreated(await client.call(createWebhook, { workspaceId, body }))
    notify(t('webhooks.wasCreated'))
    await refreshData()
  }
  return (
    <Page title={t('webhooks.create')} actions={<Link href="/webhooks">{t('webhooks.all')}</Link>}>
      {created ? (
        <Section title={created.url}>
          <p className="hint">{t('webhooks.secretHint')}</p>
          <Secret label={t('webhooks.secret')} value={created.secret} />
          <div>
            <Link href={`/webhooks/${created.bizId}`} className="button">
              {t('webhooks.details')}
            </Link>
          </div>
        </Section>
      ) : (
        <Form submit={t('webhooks.create')} onSubmit={create}>
          <TextField label={t('webhooks.url')} name="url" type="url" hint={t('webhooks.urlHint')} required />
          <TextField label={t('webhooks.description')} name="description" maxLength={128} />
          <EventTypeFields />
        </Form>
      )}
    </Page>
  )
}
