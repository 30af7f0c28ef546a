export { type BreachCheck, createBreachCheck, noBreachCheck } from './breached-passwords.ts'
export { createTurnstile, noRobotCheck, type RobotCheck } from './turnstile.ts'
