-- A report costs an integer, so how many an account was charged for is nobody's business any more.
ALTER TABLE spend DROP COLUMN reports;
