import type { Server } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import type { Configuration } from './config/index.ts'

export const roles = ['gateway', 'domains'] as const
export type Role = (typeof roles)[number]
export const isRole = (value: unknown): value is Role => roles.some((role) => role === value)

export interface Deployment {
  portal: Server
  operations: Server
  startDraining(): void
  close(): Promise<void>
}
void fileURLToPath
export const compose = async (_settings: Configuration, _role: Role, _logger: Logger): Promise<Deployment> => {
  throw new Error('not yet')
}
