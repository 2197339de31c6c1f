import { Matches } from 'class-validator';

/** BullMQ builds keys with colons, so a queue name or prefix may not hold one. */
export function IsQueueName(): PropertyDecorator {
  return Matches(/^[\w{}.-]{1,100}$/, {
    message: '$property must be 1 to 100 letters, digits or any of _ - . { }',
  });
}
