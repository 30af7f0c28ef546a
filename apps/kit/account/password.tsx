import { changePassword } from 'portal-client'
import { useState } from 'react'
import { client } from '../client.ts'
import { CheckField, Form, TextField, type Values } from '../forms.tsx'
import { t } from '../i18n.ts'
import { Section } from '../page.tsx'
import { notify } from '../toasts.tsx'
import { NewPasswordFields, newPasswordOf } from './new-password.tsx'
import { SubPage } from './sub-page.tsx'

/** Changes the password. */
export default function PasswordPage() {
  const [suspended, setSuspended] = useState<number | null>(null)
  const change = async (values: Values, form: HTMLFormElement): Promise<void> => {
    const newPassword = newPasswordOf(values)
    const suspendCredentials = values('suspendCredentials') === 'on'
    const done = await client.call(changePassword, {
      body: { currentPassword: values('currentPassword'), newPassword, suspendCredentials },
    })
    form.reset()
    setSuspended(sum(done.suspendedCredentials))
    notify(t('account.passwordChanged', { count: done.terminatedSessions }))
  }
  return (
    <SubPage title={t('account.password')}>
      <Section title={t('account.changePassword')}>
        <Form submit={t('account.changePassword')} onSubmit={change}>
          <TextField
            label={t('account.currentPassword')}
            name="currentPassword"
            type="password"
            autoComplete="current-password"
            required
          />
          <NewPasswordFields />
          <CheckField label={t('account.suspendCredentials')} name="suspendCredentials" />
          <p className="hint">{t('account.endsOthers')}</p>
        </Form>
        {suspended !== null && <p role="status">{t('account.suspended', { count: suspended })}</p>}
      </Section>
    </SubPage>
  )
}

function sum(counts: Readonly<Record<string, number>> | undefined): number | null {
  return counts === undefined ? null : Object.values(counts).reduce((total, count) => total + count, 0)
}
