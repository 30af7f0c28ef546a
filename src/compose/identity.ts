import type { Configuration } from '../config/index.ts'
import { createIdentity, defaultIdentitySettings, type Identity, type IdentitySettings } from '../identity/index.ts'
import type { Outside } from './outside.ts'

const identitySettings = ({ tokens, sessions, secureChannel }: Configuration): IdentitySettings => {
  const defaults = defaultIdentitySettings
  return {
    ...defaults,
    tokens: { ...defaults.tokens, ...tokens },
    sessions: { ...defaults.sessions, ...sessions },
    secureChannel: { ...defaults.secureChannel, ...secureChannel },
  }
}

export const composeIdentity = (settings: Configuration, outside: Outside): Promise<Identity> =>
  createIdentity(outside, identitySettings(settings))
