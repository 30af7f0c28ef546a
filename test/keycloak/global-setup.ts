/* One Keycloak for all tests. Each test file has its own realms. */
import type { TestProject } from 'vitest/node'
import { type KeycloakServer, startKeycloak } from '../harness/keycloak.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Null if Keycloak or Java is not installed. */
    keycloak: Pick<KeycloakServer, 'url' | 'administrator'> | null
  }
}

export default async (project: TestProject): Promise<() => Promise<void>> => {
  const server = await startKeycloak()
  project.provide('keycloak', server ? { url: server.url, administrator: server.administrator } : null)
  return async () => server?.stop()
}
