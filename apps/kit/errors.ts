/** A mistake that the page itself finds. Its message is a text for the user. */
export class UserError extends Error {}
