import { invalid, type Portal } from '../../kernel/index.ts'
import type { LoginPorts } from '../login/service.ts'
import { ProviderDirectory } from './protocol/directory.ts'
import type { ProviderSettings } from './settings.ts'

export interface ProviderPorts extends LoginPorts {
  providers: Providers
}

/** The providers of both portals. */
export class Providers {
  readonly #directories: readonly ProviderDirectory[]

  constructor(ports: ConstructorParameters<typeof ProviderDirectory>[0], settings: readonly ProviderSettings[]) {
    this.#directories = settings.map((each) => new ProviderDirectory(ports, each))
  }

  of(portal: Portal): ProviderDirectory[] {
    return this.#directories.filter(({ settings }) => settings.portal === portal)
  }

  /** Undefined for a provider that is not configured any more. */
  known(portal: Portal, id: string | null): ProviderDirectory | undefined {
    return this.of(portal).find(({ settings }) => settings.id === id)
  }

  /** Throws VALIDATION.INVALID_PARAMETER. */
  find(portal: Portal, id: string): ProviderDirectory {
    const found = this.known(portal, id)
    if (!found) throw invalid('providerId', 'the portal has no such provider')
    return found
  }
}
