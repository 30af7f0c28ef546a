import { t } from '../../kit/i18n.ts'
import { readPageSettings } from '../../kit/settings.ts'

const { portals } = readPageSettings()

export const portalNames: readonly string[] = portals.map(({ name }) => name)

/** The portals of the deployment, as a filter or a field offers them. */
export const portalOptions = portals.map(({ name, label }) => ({ value: name, label: label ?? textOf(name) }))

function textOf(name: string): string {
  return name === 'SYSTEM' ? t('accounts.portal_SYSTEM') : t('accounts.portal_CONSUMER')
}
