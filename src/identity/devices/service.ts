import type { Statements } from '../../database/index.ts'
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
export function findSignInDevice(
  { clock, digest }: Pick<IdentityPorts, 'clock' | 'digest'>,
  { knownDevices }: IdentitySettings['login'],
  owner: DeviceOwner,
  { clientHash }: RequestContext,
): Statements<SignInDevice> {
  const digests = digest.candidates('client-hash', clientHash)
  const seenAfter = addMs(clock.now(), -knownDevices.retentionMs)
  return lookUpDevice(owner, digests, seenAfter).map(({ isKnown, devices }) => ({
    known: isKnown ? digests : null,
    mayUseReserve: isKnown || devices === 0,
  }))
}
