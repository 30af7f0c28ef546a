import { completeRegistration } from 'portal-client'
import { CountryField, TimezoneField } from '../../kit/account/choices.tsx'
import { client } from '../../kit/client.ts'
import { Form, TextField, type Values } from '../../kit/forms.tsx'
import { locale, t } from '../../kit/i18n.ts'

export interface CreatedAccount {
  pendingApproval: boolean
  /** Sets the first password, and registers the first passkey. */
  passwordInitToken: string
}

/** The facts of the new account. Suggests the time zone of the browser. */
export function AccountStep({ sessionId, onNext }: { sessionId: string; onNext(account: CreatedAccount): void }) {
  const complete = async (values: Values): Promise<void> => {
    const country = values('defaultCountry')
    const account = await client.call(completeRegistration, {
      body: {
        sessionId,
        accountName: values('accountName'),
        accountPhone: values('accountPhone'),
        defaultLanguage: locale,
        defaultTimezone: values('defaultTimezone'),
        ...(country !== '' && { defaultCountry: country }),
      },
    })
    onNext(account)
  }
  return (
    <Form submit={t('registration.create')} onSubmit={complete}>
      <TextField label={t('account.name')} name="accountName" autoComplete="name" maxLength={128} required autoFocus />
      <TextField
        label={t('account.phone')}
        name="accountPhone"
        type="tel"
        autoComplete="tel"
        hint={t('registration.optional')}
      />
      <CountryField defaultValue={regionOf(navigator.language)} />
      <TimezoneField defaultValue={Intl.DateTimeFormat().resolvedOptions().timeZone} />
    </Form>
  )
}

/** The likely country of a language tag, such as US for `en`. */
function regionOf(tag: string): string {
  return new Intl.Locale(tag).maximize().region ?? ''
}
