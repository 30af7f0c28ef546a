import type { Variables } from '../../../src/config/env.ts'
import { runCli } from '../../harness/cli.ts'

/** Of the operators that `createOperator` creates. */
export const operatorPassword = 'a lighthouse keeps 7 boats'

/** Creates an operator with the command of the operations team, before the gateway starts. Returns what it prints. */
export async function createOperator(variables: Variables, email: string, ...options: string[]): Promise<string> {
  const named = ['--email', email, '--name', 'Olga Operator', '--reason', 'joins the team', '--password-stdin']
  const { code, out, err } = await runCli(['operator', 'create', ...named, ...options], {}, variables, operatorPassword)
  if (code !== 0) throw new Error(`operator create: ${out}${err}`)
  return out
}
