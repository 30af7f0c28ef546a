import { addMs, type RequestContext } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { type DeviceDigests, type DeviceOwner, lookUpDevice } from './store.ts'

export interface SignInDevice {
  /** Null if no recent sign-in from this client was completed. */
  known: DeviceDigests | null
  mayUseReserve: boolean
}

/** Without known devices, an account has nobody to reserve codes for. Devices under a removed secret key do not count. */
export const findSignInDevice = async (
  { clock, database, digest }: Pick<IdentityPorts, 'clock' | 'database' | 'digest'>,
  { knownDevices }: IdentitySettings['login'],
  owner: DeviceOwner,
  { clientHash }: RequestContext,
): Promise<SignInDevice> => {
  const digests = digest.candidates('client-hash', clientHash)
  const seenAfter = addMs(clock.now(), -knownDevices.retentionMs)
  const { isKnown, devices } = await lookUpDevice(database, owner, digests, seenAfter)
  return { known: isKnown ? digests : null, mayUseReserve: isKnown || devices === 0 }
}
