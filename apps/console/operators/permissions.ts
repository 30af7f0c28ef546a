import { t } from '../../kit/i18n.ts'

/** The areas of the product by the groups of permissions, such as `account` of `account:read`. */
const areas: readonly { name: string; groups: readonly string[] }[] = [
  { name: 'people', groups: ['account', 'session', 'member', 'operator', 'recovery', 'provisioning'] },
  { name: 'money', groups: ['transfer', 'recharge', 'withdrawal', 'withdrawal-channel', 'exchange-rate', 'wallet'] },
  { name: 'workspaces', groups: ['workspace', 'api-key', 'operator-key', 'webhook', 'event'] },
  { name: 'oversight', groups: ['audit', 'ledger', 'gateway'] },
]

/** The permissions by areas, in the order of the areas. Those of extensions are last. */
export function byArea(codes: readonly string[]): { name: string; codes: readonly string[] }[] {
  const known = areas.map(({ name, groups }) => ({
    name: t(`operators.area_${name}`),
    codes: codes.filter((code) => groups.includes(groupOf(code))),
  }))
  const others = codes.filter((code) => !areas.some(({ groups }) => groups.includes(groupOf(code))))
  return [...known, { name: t('operators.area_others'), codes: others }].filter((area) => area.codes.length > 0)
}

function groupOf(code: string): string {
  return code.split(':')[0] ?? ''
}
