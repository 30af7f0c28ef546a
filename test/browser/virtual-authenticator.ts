import type { CDPSession, Page } from 'playwright-core'

export interface StoredCredential {
  credentialId: string
  isResidentCredential: boolean
  rpId?: string
  privateKey: string
  userHandle?: string
  signCount: number
}

/** The authenticator of a page (https://chromedevtools.github.io/devtools-protocol/tot/WebAuthn/). */
export interface VirtualAuthenticator {
  credentials(): Promise<StoredCredential[]>
  /** Whether the user touches it and selects a passkey. */
  setPresent(enabled: boolean): Promise<void>
  /** Whether the user passes the verification. */
  setVerified(isUserVerified: boolean): Promise<void>
  /** Puts this credential in the place of all others, as on another device. */
  replaceBy(credential: StoredCredential): Promise<void>
}

/** Adds an authenticator to the page that confirms each request. */
export async function addAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const session: CDPSession = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable', { enableUI: false })
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    credentials: async () => (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
    setPresent: async (enabled) => {
      await session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })
    },
    setVerified: async (isUserVerified) => {
      await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
    },
    replaceBy: async (credential) => {
      await session.send('WebAuthn.clearCredentials', { authenticatorId })
      await session.send('WebAuthn.addCredential', { authenticatorId, credential })
    },
  }
}
