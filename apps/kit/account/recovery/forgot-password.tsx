import { forgotPassword } from 'portal-client'
import { useState } from 'react'
import { useCaptcha } from '../../captcha/captcha.tsx'
import { client } from '../../client.ts'
import { Form, TextField, type Values } from '../../forms.tsx'
import { t } from '../../i18n.ts'
import { VisitorPage } from './visitor-page.tsx'

/** Requests the mail with the link. The reply is the same for every address. */
export default function ForgotPasswordPage() {
  const [message, setMessage] = useState<string | null>(null)
  const captcha = useCaptcha()
  const request = async (values: Values): Promise<void> => {
    const email = values('email')
    const reply = await captcha.send((turnstileToken) =>
      client.call(forgotPassword, { body: { email, turnstileToken } }),
    )
    setMessage(reply.message)
  }
  return (
    <VisitorPage title={t('recovery.forgot')}>
      {message === null ? (
        <>
          <p>{t('recovery.forgotHint')}</p>
          <Form submit={t('recovery.sendLink')} onSubmit={request}>
            <TextField label={t('sign-in.email')} name="email" type="email" autoComplete="username" required />
            {captcha.field}
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
