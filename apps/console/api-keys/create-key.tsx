import { createOperatorApiKey } from 'portal-client'
import { useState } from 'react'
import { client } from '../../kit/client.ts'
import { CredentialFields, type CredentialKind, readCredential } from '../../kit/credential/credential.tsx'
import { UserError } from '../../kit/errors.ts'
import { SelectField, TextAreaField, TextField } from '../../kit/forms.tsx'
import { permissionName, t } from '../../kit/i18n.ts'
import { notify } from '../../kit/toasts.tsx'
import { SecretCommand } from '../records/secret-command.tsx'

/** The permissions that keys of operators can hold. A key for provisioning belongs to an identity provider. */
const permissions = ['audit:read', 'provisioning:manage'] as const

const dayMs = 86_400_000

/** Creates a key of operators, and shows its secret once. */
export function CreateKey() {
  const [permission, setPermission] = useState<string>(permissions[0])
  const [credential, setCredential] = useState<CredentialKind>('SECRET')
  return (
    <SecretCommand
      label={t('api-keys.create')}
      question={t('api-keys.createAbout')}
      permission="operator-key:manage"
      run={async (form) => {
        const providerId = form('providerId')
        const read = readCredential(credential, form)
        if ('problem' in read) throw new UserError(t(read.problem))
        const { secret } = await client.call(createOperatorApiKey, {
          body: {
            apiKeyName: form('apiKeyName'),
            permissionCodes: [form('permissionCodes')],
            expiresAt: new Date(Date.now() + Number(form('days')) * dayMs).toISOString(),
            ipAllowlist: form('ipAllowlist').split(/\s+/).filter(Boolean),
            ...(providerId !== '' && { providerId }),
            ...read,
          },
        })
        if (secret === null) notify(t('api-keys.created'))
        return secret
      }}
    >
      <TextField label={t('api-keys.name')} name="apiKeyName" required autoComplete="off" />
      <SelectField
        label={t('api-keys.permission')}
        name="permissionCodes"
        options={permissions.map((value) => ({ value, label: permissionName(value) }))}
        onChange={setPermission}
      />
      {permission === 'provisioning:manage' && (
        <TextField label={t('operators.provider')} name="providerId" required autoComplete="off" />
      )}
      <SelectField
        label={t('api-keys.life')}
        name="days"
        options={[30, 90, 180, 364].map((days) => ({ value: String(days), label: t('api-keys.days', { days }) }))}
        defaultValue="90"
      />
      <TextAreaField label={t('api-keys.addresses')} name="ipAllowlist" hint={t('api-keys.addressesHint')} />
      <CredentialFields kind={credential} onChange={setCredential} />
    </SecretCommand>
  )
}
