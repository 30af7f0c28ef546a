import type { Database } from '../../database/index.ts'
import type { HandlerTable, Words } from '../../kernel/index.ts'
import { createHandlers } from './handlers.ts'
import { createService } from './service.ts'

export interface ProfilePorts {
  database: Database
  words: Words
  /** Whether a country has this ISO 3166 alpha-2 code. */
  isCountry(alpha2: string): boolean
}

export const createProfile = ({ database, words, isCountry }: ProfilePorts): { handlers: HandlerTable } => ({
  handlers: createHandlers(createService(database, isCountry), words),
})
