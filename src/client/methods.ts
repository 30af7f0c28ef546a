import type { Calling } from './calling.ts'
import type { Route } from './routes.ts'

/**
 * A method per route, under the operation's export name. `Methods` follows from the same catalogue as the routes do;
 * test/client holds the two lists against each other.
 */
export const methodsOf = <Methods>(routes: readonly Route[], calling: Calling): Methods =>
  Object.fromEntries(
    routes.map(({ name, operation }) => [
      name,
      async (args: object = {}) => (await calling.answer(operation, args)).data,
    ]),
  ) as Methods
