import { signIn } from '../../harness/sign-in.ts'
import type { AppWorld } from './world.ts'

export const auditor = 'checker@demo.test'

/** Leaves the second seeded operator the permissions that `keeps` selects. Default: those to read. */
export async function restrictChecker(
  { portico }: AppWorld,
  keeps: (permission: string) => boolean = (permission) => permission.endsWith(':read'),
): Promise<void> {
  const { accessToken: token } = await signIn(portico, 'operator@demo.test')
  const list = '/web/v1/system/operators?accountEmail=checker'
  const { body } = await portico.call('GET', list, { token })
  const { bizId, permissionCodes }: { bizId: string; permissionCodes: string[] } = body.data.items[0]
  const answer = await portico.call('POST', `/web/v1/system/operators/${bizId}/permissions/revoke`, {
    token,
    body: { permissionCodes: permissionCodes.filter((code) => !keeps(code)), reason: 'Change of duties' },
  })
  if (answer.status !== 200) throw new Error(`revoke: ${answer.status} ${answer.text}`)
}
