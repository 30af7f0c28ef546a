import { UserError } from '../errors.ts'
import { TextField, type Values } from '../forms.tsx'
import { t } from '../i18n.ts'

/** A new password, and the same again, with the rules of the gateway. */
export function NewPasswordFields() {
  return (
    <>
      <TextField
        label={t('account.newPassword')}
        name="newPassword"
        type="password"
        autoComplete="new-password"
        minLength={8}
        maxLength={256}
        required
        hint={t('account.passwordRules')}
      />
      <TextField
        label={t('account.repeatPassword')}
        name="repeatedPassword"
        type="password"
        autoComplete="new-password"
        required
      />
    </>
  )
}

/** Throws for the user if they typed two different passwords. */
export function newPasswordOf(values: Values): string {
  const newPassword = values('newPassword')
  if (newPassword !== values('repeatedPassword')) throw new UserError(t('account.passwordsDiffer'))
  return newPassword
}
