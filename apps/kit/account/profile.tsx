import { useQuery } from '@tanstack/react-query'
import { type Profile, readProfile, updateProfile } from 'portal-client'
import { refreshData } from '../app.tsx'
import { client } from '../client.ts'
import { Facts } from '../facts.tsx'
import { Form, TextField, type Values } from '../forms.tsx'
import { isLocale, t } from '../i18n.ts'
import { Page, Section } from '../page.tsx'
import { Badge, QueryView } from '../states.tsx'
import { Time } from '../time.tsx'
import { notify } from '../toasts.tsx'
import { CountryField, LanguageField, TimezoneField } from './choices.tsx'

/** The name, the contact and the preferences of the account. */
export default function ProfilePage() {
  const query = useQuery({ queryKey: ['profile'], queryFn: () => client.call(readProfile) })
  return (
    <Page title={t('kit.profile')}>
      <QueryView query={query}>
        {(profile) => (
          <>
            <Section title={t('account.facts')}>
              <ProfileFacts profile={profile} />
            </Section>
            <Section title={t('account.change')}>
              <ProfileForm key={profile.updatedAt} profile={profile} />
            </Section>
          </>
        )}
      </QueryView>
    </Page>
  )
}

function ProfileFacts({ profile }: { profile: Profile }) {
  const { accountEmail, accountStatus, createdAt, bizId } = profile
  return (
    <Facts
      facts={[
        [t('account.email'), accountEmail],
        [t('account.status'), <Badge key="status">{accountStatus.label}</Badge>],
        [t('account.since'), <Time key="since" at={createdAt} />],
        [t('account.id'), <code key="id">{bizId}</code>],
      ]}
    />
  )
}

function ProfileForm({ profile }: { profile: Profile }) {
  const save = async (values: Values): Promise<void> => {
    const language = values('defaultLanguage')
    const country = values('defaultCountry')
    await client.call(updateProfile, {
      body: {
        accountName: values('accountName'),
        accountPhone: values('accountPhone'),
        defaultTimezone: values('defaultTimezone'),
        ...(isLocale(language) && { defaultLanguage: language }),
        ...(country !== '' && { defaultCountry: country }),
      },
    })
    notify(t('account.saved'))
    await refreshData()
  }
  return (
    <Form submit={t('account.save')} onSubmit={save}>
      <TextField
        label={t('account.name')}
        name="accountName"
        autoComplete="name"
        defaultValue={profile.accountName}
        maxLength={128}
        required
      />
      <TextField
        label={t('account.phone')}
        name="accountPhone"
        type="tel"
        autoComplete="tel"
        defaultValue={profile.accountPhone}
      />
      <LanguageField defaultValue={profile.defaultLanguage} />
      <TimezoneField defaultValue={profile.defaultTimezone} />
      <CountryField defaultValue={profile.defaultCountry} />
    </Form>
  )
}
