import { initPassword } from 'portal-client'
import { useState } from 'react'
import { client } from '../../client.ts'
import { Form, type Values } from '../../forms.tsx'
import { t } from '../../i18n.ts'
import { NewPasswordFields, newPasswordOf } from '../new-password.tsx'
import { linkToken } from './link-token.ts'
import { VisitorPage, WithoutToken } from './visitor-page.tsx'

/** Sets the first password of an account that somebody else created. */
export default function InitPasswordPage() {
  const [isDone, setDone] = useState(false)
  return (
    <VisitorPage title={t('recovery.init')}>
      {isDone ? (
        <p className="notice notice-good" role="status">
          {t('recovery.initDone')}
        </p>
      ) : linkToken === null ? (
        <WithoutToken />
      ) : (
        <InitForm token={linkToken} onDone={() => setDone(true)} />
      )}
    </VisitorPage>
  )
}

function InitForm({ token, onDone }: { token: string; onDone(): void }) {
  const set = async (values: Values): Promise<void> => {
    await client.call(initPassword, { body: { token, newPassword: newPasswordOf(values) } })
    onDone()
  }
  return (
    <Form submit={t('recovery.setPassword')} onSubmit={set}>
      <NewPasswordFields />
    </Form>
  )
}
