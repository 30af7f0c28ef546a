import { useQuery } from '@tanstack/react-query'
import { type ApiKey, createApiKey, listApiKeyPermissions } from 'portal-client'
import { useState } from 'react'
import { Link } from 'wouter'
import { refreshData } from '../../kit/app.tsx'
import { client } from '../../kit/client.ts'
import { CredentialFields, type CredentialKind, readCredential } from '../../kit/credential/credential.tsx'
import { Form, SelectField, TextAreaField, TextField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Page } from '../../kit/page.tsx'
import { QueryView } from '../../kit/states.tsx'
import { notify } from '../../kit/toasts.tsx'
import { chosenPermissions, PermissionFields } from '../permissions/tree.tsx'
import { useWorkspace } from '../workspace.tsx'
import { CreatedKey } from './created-key.tsx'

/** Creates an API key and shows its secret once. */
export default function NewApiKey() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const [created, setCreated] = useState<ApiKey | null>(null)
  const [credential, setCredential] = useState<CredentialKind>('SECRET')
  const [problem, setProblem] = useState<string | null>(null)
  const query = useQuery({
    queryKey: ['api-key-permissions', workspaceId],
    queryFn: () => client.call(listApiKeyPermissions, { workspaceId }),
  })
  const create = async (values: Values, form: HTMLFormElement): Promise<void> => {
    const read = readCredential(credential, values)
    setProblem('problem' in read ? t(read.problem) : null)
    if ('problem' in read) return
    const ipAllowlist = values('addresses')
      .split(/[\s,]+/)
      .filter(Boolean)
    const days = Number(values('days'))
    const body = {
      apiKeyName: values('apiKeyName'),
      permissionCodes: chosenPermissions(form),
      ...(ipAllowlist.length > 0 && { ipAllowlist }),
      ...(days > 0 && { expiresAt: new Date(Date.now() + days * 86_400_000).toISOString() }),
      ...read,
    }
    setCreated(await client.call(createApiKey, { workspaceId, body }))
    notify(t('api-keys.wasCreated', { name: body.apiKeyName }))
    await refreshData()
  }
  if (created) return <CreatedKey apiKey={created} />
  return (
    <Page title={t('api-keys.create')} actions={<Link href="/api-keys">{t('api-keys.all')}</Link>}>
      <div className="permissions-form">
        <Form submit={t('api-keys.create')} onSubmit={create}>
          <TextField
            label={t('api-keys.name')}
            name="apiKeyName"
            maxLength={64}
            hint={t('api-keys.nameHint')}
            required
          />
          <SelectField
            label={t('api-keys.expires')}
            name="days"
            hint={t('api-keys.expiresHint')}
            defaultValue="90"
            options={[
              ...[30, 90, 365].map((days) => ({ value: String(days), label: t('api-keys.inDays', { days }) })),
              { value: '0', label: t('api-keys.never') },
            ]}
          />
          <TextAreaField label={t('api-keys.addresses')} name="addresses" hint={t('api-keys.addressesHint')} />
          <CredentialFields kind={credential} onChange={setCredential} />
          {problem !== null && (
            <p className="field-error" role="alert">
              {problem}
            </p>
          )}
          <QueryView query={query}>{(codes) => <PermissionFields codes={codes} />}</QueryView>
        </Form>
      </div>
    </Page>
  )
}
