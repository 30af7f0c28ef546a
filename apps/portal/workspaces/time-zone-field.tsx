import { useQuery } from '@tanstack/react-query'
import { listTimezones } from 'portal-client'
import { client } from '../../kit/client.ts'
import { SelectField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'

/** A field with the name `workspaceTimezone`. */
export function TimeZoneField({ current }: { current: string }) {
  const { data = [] } = useQuery({ queryKey: ['time-zones'], queryFn: () => client.call(listTimezones) })
  const zones = data.map(({ zoneIdCode, utcOffset }) => ({ value: zoneIdCode, label: `${zoneIdCode} (${utcOffset})` }))
  const isListed = zones.some(({ value }) => value === current)
  return (
    <SelectField
      // Its default value is read once.
      key={zones.length}
      label={t('workspaces.timeZone')}
      name="workspaceTimezone"
      hint={t('workspaces.timeZoneHint')}
      options={isListed ? zones : [{ value: current, label: current }, ...zones]}
      defaultValue={current}
      required
    />
  )
}
