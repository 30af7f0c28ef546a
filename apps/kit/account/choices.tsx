import { useQuery } from '@tanstack/react-query'
import { listCountries, listTimezones } from 'portal-client'
import { client } from '../client.ts'
import { SelectField } from '../forms.tsx'
import { locales, t } from '../i18n.ts'
import { QueryView } from '../states.tsx'

/** The language of mails. */
export function LanguageField({ defaultValue }: { defaultValue: string }) {
  return (
    <SelectField
      label={t('account.language')}
      name="defaultLanguage"
      hint={t('account.languageHint')}
      defaultValue={defaultValue}
      options={Object.entries(locales).map(([value, label]) => ({ value, label }))}
    />
  )
}

export function TimezoneField({ defaultValue }: { defaultValue: string }) {
  const query = useQuery({ queryKey: ['timezones'], queryFn: () => client.call(listTimezones), staleTime: hour })
  return (
    <QueryView query={query}>
      {(zones) => {
        const options = zones.map(({ zoneIdCode, utcOffset }) => ({
          value: zoneIdCode,
          label: `${zoneIdCode.replaceAll('_', ' ')} (${utcOffset})`,
        }))
        return (
          <SelectField
            label={t('account.timezone')}
            name="defaultTimezone"
            defaultValue={defaultValue}
            options={withChosen(options, defaultValue)}
          />
        )
      }}
    </QueryView>
  )
}

export function CountryField({ defaultValue }: { defaultValue: string }) {
  const query = useQuery({ queryKey: ['countries'], queryFn: () => client.call(listCountries), staleTime: hour })
  return (
    <QueryView query={query}>
      {(countries) => {
        const options = countries.map(({ alpha2Code, label }) => ({ value: alpha2Code, label }))
        return (
          <SelectField
            label={t('account.country')}
            name="defaultCountry"
            defaultValue={defaultValue}
            options={withChosen(options, defaultValue)}
          />
        )
      }}
    </QueryView>
  )
}

const hour = 3_600_000

interface Option {
  value: string
  label: string
}

/** A value outside of the list, such as an alias of a time zone, stays selected. */
function withChosen(options: readonly Option[], value: string): readonly Option[] {
  return options.some((option) => option.value === value) ? options : [{ value, label: value || '–' }, ...options]
}
