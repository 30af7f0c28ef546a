import { forgotPassword } from 'portal-client'
import { useState } from 'react'
import { client } from '../../client.ts'
import { Form, TextField, type Values } from '../../forms.tsx'
import { t } from '../../i18n.ts'
import { VisitorPage } from './visitor-page.tsx'

/** Requests the mail with the link. The reply is the same for every address. */
export default function ForgotPasswordPage() {
  const [message, setMessage] = useState<string | null>(null)
  const request = async (values: Values): Promise<void> => {
    const reply = await client.call(forgotPassword, { body: { email: values('email'), turnstileToken: '' } })
    setMessage(reply.message)
  }
  return (
    <VisitorPage title={t('recovery.forgot')}>
      {message === null ? (
        <>
          <p>{t('recovery.forgotHint')}</p>
          <Form submit={t('recovery.sendLink')} onSubmit={request}>
            <TextField label={t('sign-in.email')} name="email" type="email" autoComplete="username" required />
          </Form>
        </>
      ) : (
        <p className="notice" role="status">
          {message}
        </p>
      )}
    </VisitorPage>
  )
}
